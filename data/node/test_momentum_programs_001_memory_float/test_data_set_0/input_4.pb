B
X_negativeJ╥ук?ъ┘Р©%x+?gд■©