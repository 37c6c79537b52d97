import { render } from "preact";
import { sourceOf } from "./load";
import { Root } from "./views/Root";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const source = sourceOf(document.getElementById("data"));
render(<Root source={source} />, document.getElementById("page")!);
