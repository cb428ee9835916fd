BB1_newJ …Ÿ=û´ŸÁ<\³X
Æ¸<
XÅDrEÈ<n 6µpÊ¥<