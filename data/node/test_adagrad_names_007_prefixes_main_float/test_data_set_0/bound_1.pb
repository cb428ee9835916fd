B
vvvvvvvvvvJ ã˜3ÿq>À’<f³æ>Æ+Ï«¨“>p‘8"‹–>