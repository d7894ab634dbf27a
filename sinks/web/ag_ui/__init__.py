"""Events as AG-UI has them."""
