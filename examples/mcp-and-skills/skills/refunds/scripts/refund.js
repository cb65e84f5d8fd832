console.log(args.days <= 14 ? args.euros : args.days <= 60 ? args.euros / 2 : 0);
