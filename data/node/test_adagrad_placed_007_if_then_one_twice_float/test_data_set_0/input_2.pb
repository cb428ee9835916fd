BH1_rearrangedJý@ÀõŒ?âVõ>‹^#@k\
@Ès@