# Hashes, regular expressions, sorting, children, a handler for a signal.
use strict;
my %seen;
$seen{$_ % 997} .= "x$_" for 1 .. 80000;
print length(join ",", map { "$_=$seen{$_}" } sort keys %seen), "\n";
my $text = join " ", map { "word$_" } 1 .. 5000;
my $n = () = $text =~ /(\w+?)(\d+)/g;
print "$n matches\n";
$SIG{USR1} = sub { print "signal ", length("y" x 10000), "\n" };
kill USR1 => $$;
for my $child (1 .. 20) {
    my $pid = fork();
    if ($pid == 0) { my @list = map { "z" x $_ } 1 .. 500; exit scalar(@list) % 256 }
    waitpid $pid, 0;
    print $? >> 8, " ";
}
print "\n", `echo child`;
eval { die { code => 4 } };
exit $@->{code};
