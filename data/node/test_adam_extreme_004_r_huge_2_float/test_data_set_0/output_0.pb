BX_newJ‡Þ|ñÆ¼
p»AŸqøPÉð