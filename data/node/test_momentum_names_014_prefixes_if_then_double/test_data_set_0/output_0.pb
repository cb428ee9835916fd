BvvvvvvvvvvvvvvvvvvJ *n’†¼²â?"pÈ¸"ä?U Î
Ü¿j[ ŒÝæ¿