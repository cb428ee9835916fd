BvvvvvvvvvvvvvvvJ 
M─tW╢>Л7■E≤Ё>
╨zE▌>И$од╬╧>