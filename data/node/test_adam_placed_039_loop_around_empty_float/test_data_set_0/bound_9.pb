BV3_new_laterJΐ2Αl‰N£>%γγ 
Ά¦>