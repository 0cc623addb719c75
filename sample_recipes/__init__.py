"""Small whole recipes, clean and faulty, with their expected findings in them."""
