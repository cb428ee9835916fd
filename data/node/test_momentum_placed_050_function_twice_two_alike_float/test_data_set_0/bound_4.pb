B	V1_new_atJ ћЫьЩ#S‚>Ъ #
Чx>oБQ^ЬCf>Іб…&с•>