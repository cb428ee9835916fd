BX_newJ ύΩMΏY)ƒTΏqχΏ\npDΝΏνδΨe
ΤαΏ