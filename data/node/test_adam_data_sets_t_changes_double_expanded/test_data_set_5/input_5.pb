BHJ K‡W7½
@tF wuם?H±ֵ‎uKפ?ְר?רג?