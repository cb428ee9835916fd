BvvvvvvvvvvvvJ 
55жЫЩ>?F^к>Беї┘Я│>M+Ы▀(`▒>