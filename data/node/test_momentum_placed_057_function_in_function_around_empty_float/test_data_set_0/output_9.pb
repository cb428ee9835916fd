BV1_new_laterJbÀÆöÛ¼
"2?ï)@