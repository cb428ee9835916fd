BH16_newJî½
@ÀK@