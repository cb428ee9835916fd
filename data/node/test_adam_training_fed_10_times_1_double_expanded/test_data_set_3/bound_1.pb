BX_newJJ¾O°oÊ<YÃ[%E
»<;sT“Ž¢<