BH_newJ~‡
@åjB