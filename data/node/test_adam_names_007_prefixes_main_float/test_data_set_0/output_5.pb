BvvvvvvvvvvvvvvvvJћфЦ?У
4@нол?н@@