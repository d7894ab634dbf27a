"""Events as other frameworks have them."""
