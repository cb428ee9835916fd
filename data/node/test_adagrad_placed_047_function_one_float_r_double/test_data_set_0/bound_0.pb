BX_newJ0y`kήaz’>αx2C‚>fp-™
I>gόγ…_‰>L\$I>"qπTm>