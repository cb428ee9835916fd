B
H_beside_HJP7s?õ@ 2¢?ÂÇù?