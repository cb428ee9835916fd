BH1_new_twin_ifJ õy=)	”@(ÿÓ¥@Jwï
@jXZ&7@