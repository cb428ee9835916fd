B
captured_0JòZ¤?Ça_@ÿi@Tø-@L	Ó?î|@