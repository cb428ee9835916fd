BX2_new_twin_later_ifJ0N§âƒ×ÀŸ^7j-	@6xœ5†Jý?4 ûÀ(B@9S[G9Þ¿×
-Øä@