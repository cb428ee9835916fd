BV_new_RJs
@Np-@{´ì?c@