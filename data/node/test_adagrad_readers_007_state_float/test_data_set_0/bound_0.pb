BX_newJ0ùóQ‰¥˜v>÷>~=Àj>)‰J‰Af>ÚïVÂV_’>Ô˜æHSw>¤
gº<X‘>