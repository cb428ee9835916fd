B	X1_new_atJ †6<AfJb>ÝôlfËO>ê
hñãÕ[>ð‹´c­&>