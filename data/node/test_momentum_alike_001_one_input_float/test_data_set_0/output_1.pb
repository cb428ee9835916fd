BV_new_firstJs
@Np-@{´ì?c@