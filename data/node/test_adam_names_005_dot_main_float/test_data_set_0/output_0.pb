Bvalue.X1_newJБ┘,©о╞╒?▓:S©жу
>