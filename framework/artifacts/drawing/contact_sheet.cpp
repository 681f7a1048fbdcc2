#include "framework/artifacts/drawing/contact_sheet.h"

#include <limits>
#include <sstream>

#include "framework/artifacts/drawing/escape_html.h"
#include "framework/artifacts/drawing/render_samples.h"

namespace tenon::artifacts {

namespace {

void write_sample(std::ostream& page, const std::string& caption, const RenderedSample& sample) {
  page << "<figure>";
  for (const RenderedPicture& picture : sample.pictures) page << embed_picture(picture);
  page << "<figcaption>" << escape_html(caption);
  for (const auto& [name, values] : sample.values) page << "<br>" << escape_html(name) << ": " << escape_html(values);
  page << "</figcaption></figure>\n";
}

}  // namespace

std::string make_contact_sheet(const std::string& title, const std::vector<SheetSample>& samples,
                               const config::ClassNames& names) {
  std::vector<SampleFields> fields;
  for (const SheetSample& sample : samples) fields.push_back(sample.fields);
  const RenderedSamples drawn = render_samples(fields, std::numeric_limits<int64_t>::max(), names);
  std::ostringstream page;
  page << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" << escape_html(title)
       << "</title>\n<style>\nbody { font: 14px sans-serif; margin: 1em; background: #fff; color: #222 }\n"
          "main { display: flex; flex-wrap: wrap; gap: 8px }\n"
          "figure { margin: 0; padding: 6px; border: 1px solid #ccc; max-width: 100% }\n"
          "figcaption { max-width: 24em; overflow-wrap: anywhere }\n"
          "img { image-rendering: pixelated; margin-right: 4px; max-width: 100% }\n</style></head>\n<body><h1>"
       << escape_html(title) << "</h1>\n";
  for (const auto& [name, range] : drawn.ranges)
    page << "<p>" << escape_html(name) << ": black is " << range.smallest << ", white is " << range.largest
         << ".</p>\n";
  page << draw_mask_legend(drawn.mask_colours) << "<main>\n";
  for (size_t i = 0; i < samples.size(); ++i) write_sample(page, samples[i].caption, drawn.samples[i]);
  page << "</main></body></html>\n";
  return page.str();
}

}  // namespace tenon::artifacts
