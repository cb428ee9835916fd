BH3_new_X_lastJ µ››ë@l´có<@Eë&ð?n·w
šlã?