B
X_negativeJ0—GZσ?dε/qwdγΏΪρύη79ρ?‚8ΜΙ?Π“Ζκ†Cλ?ΤV¤›jτΏ