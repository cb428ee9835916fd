B
H_second_GJ ¡hì5E~š>…˜…˜Iž€>Û¡/Cš—>h’!·³w >