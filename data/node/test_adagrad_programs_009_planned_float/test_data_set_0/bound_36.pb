BX_new_grown_aloneJ ÀÔpR‚˜>’÷ÔÂ6}˜>Y©
4þÐ‘>,\Héê…“>