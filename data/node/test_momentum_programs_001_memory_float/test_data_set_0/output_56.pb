B
X_second_GJ▄Э└©:A©B┤≥╫зе©