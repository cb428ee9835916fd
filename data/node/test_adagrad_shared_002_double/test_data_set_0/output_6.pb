BX_new_XH_zeroJ ÷0ajаU@*▀▓╗тO@0╣n>Ы
@дц%IО0
@