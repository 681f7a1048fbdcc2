// The style sheet of report.html. It uses the colours of the charts' style sheet.
#pragma once

namespace tenon::reporting {

inline constexpr const char* kReportStyle = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
-webkit-text-size-adjust:100%}
main{max-width:66rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.6rem;line-height:1.2;margin:0;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.75rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
p{margin:.4rem 0}
.quiet{color:var(--faint)}
.state{font-weight:600}
.good{color:var(--c2)}.bad{color:var(--c1)}.neutral{color:var(--ink)}
.facts{list-style:none;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:.9rem 1.5rem;margin:1.5rem 0 0}
.facts li{min-width:0;overflow-wrap:anywhere}
.facts span{display:block;font-size:.85rem}
.facts b{font-weight:400}
dt{color:var(--faint);font-size:.85rem}
dd{margin:0;overflow-wrap:anywhere}
.findings{display:grid;grid-template-columns:minmax(9rem,12rem) 1fr;gap:.5rem 1.5rem;margin:0}
.findings dt{font-size:1rem}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:2rem 2.25rem}
figure{margin:0;min-width:0}
figcaption{margin-bottom:.25rem}
.chart{display:block;width:100%;height:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th{font-weight:400;color:var(--faint);text-align:left}
td,th{padding:.15rem 1.1rem .15rem 0;vertical-align:top}
td.number,th.number{text-align:right}
td.number,th{white-space:nowrap}
.legend{font-size:.85rem}
.chart.key{display:inline-block;width:22px;height:6px;vertical-align:middle;margin-right:.5em}
.chart.key .line{stroke-width:2}
.wide{overflow-x:auto}
pre{margin:0;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,monospace;
background:var(--sheet);padding:.9rem 1rem;border-radius:4px}
pre.table{white-space:pre}
.environment td{overflow-wrap:anywhere}
.legend td.name{padding-left:32px;text-indent:-32px}
.runs td{white-space:nowrap}
.several{margin-bottom:1rem}
section h3{margin:1.5rem 0 .5rem}
.charts h3{margin:0}
.chart.confusion .frame{fill:none;stroke:var(--rule)}.chart.confusion .count{fill:var(--ink)}
.samples{display:flex;flex-wrap:wrap;gap:1rem 1.25rem}
.samples figure{min-width:8rem;max-width:100%}
.samples figure.values{width:17rem}
.samples figcaption{width:0;min-width:100%;font-size:.85rem;line-height:1.35;overflow-wrap:anywhere;margin-top:.25rem}
.samples img{image-rendering:pixelated;max-width:100%;height:auto;margin-right:4px}
.chart.bar{height:.9rem;margin:.25rem 0 .75rem}
details{margin:.5rem 0}
summary{cursor:pointer}
:root{--sheet:#f5f6f8}
@media(prefers-color-scheme:dark){:root{--sheet:#1d2127}}
@media(max-width:34rem){main{padding:1.25rem 1rem 3rem}
.findings{grid-template-columns:1fr;gap:0}.findings dd{margin-bottom:.75rem}}
@media print{body{font-size:12px}details>*{display:block}figure{break-inside:avoid}}
)";

}  // namespace tenon::reporting
