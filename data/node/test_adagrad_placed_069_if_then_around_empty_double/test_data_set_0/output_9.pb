BH1_new_negative_ifJ õy=)	”À(ÿÓ¥ÀJwï
ÀjXZ&7À