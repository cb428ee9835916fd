BV_new_continued_betaJ –"
 „Ž>Ã»§ c¦>]êº6_ˆ>x³ÈÐÎæ‚>