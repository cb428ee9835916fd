BX1_newJYåÙ™n=E>
`Û/!ˆc>