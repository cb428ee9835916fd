BV_new_turned_1J*5V>Òa?Œ
›½Üy¼½