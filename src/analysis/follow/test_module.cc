// A small module whose function naming_test.cc asks the name of.
namespace geiger::follow {

int looked_up_by_its_name();
int looked_up_by_its_name() { return 1; }

}  // namespace geiger::follow
