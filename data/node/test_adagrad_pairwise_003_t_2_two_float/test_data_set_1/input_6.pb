BH1JnÝpTñÉ
SzÌ1T