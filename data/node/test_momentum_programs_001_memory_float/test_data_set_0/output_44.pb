B
X_second_RJL“Ø¿ƒÀ?‰À¦×½