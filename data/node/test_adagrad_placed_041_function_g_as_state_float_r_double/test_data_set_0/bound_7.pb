BX1_new_twin_negativeJ e¤*!ÛŠ>SšË^’£>Æ
fÊæš>õ°8©€ >