B
X_new_sameJ0ÿýQÙØò¿S›lÿ5Õ?’—Tçý¿Ý¼å‘XÝ?þñ§BW¡¿ƒGB\×eù?