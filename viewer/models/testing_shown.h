// All that the window shows of a session, as sums.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "tests/kept_sums.h"
#include "viewer/models/analyse.h"
#include "viewer/models/area.h"
#include "viewer/models/collectives_table.h"
#include "viewer/models/details.h"
#include "viewer/models/diff_table.h"
#include "viewer/models/find_results.h"
#include "viewer/models/flame.h"
#include "viewer/models/hang_rows.h"
#include "viewer/models/host_stack.h"
#include "viewer/models/modules.h"
#include "viewer/models/overview.h"
#include "viewer/models/session_report.h"
#include "viewer/models/step_scope.h"
#include "viewer/models/summary.h"
#include "viewer/models/tree_table.h"
#include "viewer/models/view_file.h"

namespace redline::viewer {

class Shown {
 public:
  Shown(testing::Sums& sums, Session shown, uint64_t seed)
      : sums_(sums), session_(std::move(shown)), known_(analyse_session(session_)), dice_(seed) {}

  /// What is shown also of ranks that are not loaded.
  void add_of_all_ranks() {
    for (const OverviewColumn& column :
         overview_columns(session_.outlined(known_.pass.outlines), 50))
      add_column("partial.overview", column);
    add_summary();
    add_tables("partial ", *known_.tables);
  }
  void add_all() {
    add_session();
    add_layouts();
    add_lanes();
    add_graphs();
    add_tables("", *known_.tables);
    add_steps();
    add_summary();
    add_slices();
    add_search();
    add_areas();
    add_comparison();
    for (int i = 0; i < 5; ++i) add_table("", hang_rows(session_, made_up_hang()));
  }

 private:
  void add(const std::string& name, const std::string& text) { sums_.add(name, text); }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void add(const std::string& name, Number value) { sums_.add(name, static_cast<double>(value)); }
  void add(const std::string& name, SliceRef ref) {
    add(name, ref ? 1000.0 * ref.trace + ref.slice.value : -1.0);
  }
  void add(const std::string& name, TimeRange range) {
    add(name, range.begin_ns);
    add(name, range.end_ns);
  }
  int64_t below(int64_t n) {
    return n <= 0 ? 0 : static_cast<int64_t>(dice_() % static_cast<uint64_t>(n));
  }
  /// Any part of the recording, sometimes more than it.
  TimeRange some_time() {
    const TimeRange all = session_.range();
    const int64_t begin_ns = all.begin_ns + below(all.span_ns()) - all.span_ns() / 8;
    return {begin_ns, begin_ns + 1 + below(all.span_ns() >> below(12))};
  }

  void add_session() {
    add("session", session_.name());
    add("session.range", session_.range());
    add("session", session_.event_count() + session_.lane_count() + session_.lost_count() +
                       session_.repaired_count());
    add("session.first_view", first_view(session_, 800));
    add("session.first_view", first_view(session_, 150));
    for (const SessionTrace& each : session_.traces()) {
      add("session.traces", each.title);
      add("session.traces", each.origin_ns);
      for (const Step& step : each.steps) add("session.steps " + step.name, step.range);
      for (const uint8_t each_class : each.classes) add("session.classes", each_class);
      const auto outline = outline_of(each.trace);
      add("outline", outline->events + outline->slices);
      add("outline.work", outline->work);
      for (const OverviewColumn& column : outline->columns) add_column("outline", column);
    }
    for (const int width : {7, 100})
      for (const OverviewColumn& column : overview_columns(session_, width))
        add_column("overview", column);
    if (const auto shifts = clock_shifts(session_, *known_.report)) {
      add("clocks", shifts->text);
      add("clocks", session_.shifted(shifts->shift_ns).range());
    }
    add("view", view_json({some_time(), 7, "gemm", {}, {{some_time().begin_ns, "mark"}}}));
  }
  void add_column(const std::string& name, const OverviewColumn& column) {
    add(name + ".busy", column.busy);
    add(name + ".dataloader", column.dataloader);
    add(name + ".class", static_cast<int>(column.main_class));
  }

  void add_layouts() {
    for (const int height : {120, 600, 100'000}) {
      Layout layout(session_, height);
      layout.add(session_, *known_.derived);
      add_layout("layout", layout);
      for (int change = 0; change < 8; ++change) {
        const Row row = layout.rows()[static_cast<size_t>(below(std::ssize(layout.rows())))];
        switch (below(6)) {
          case 0:
            layout.toggle(row.id);
            break;
          case 1:
            layout.set_pinned(row.id, !row.pinned);
            break;
          case 2:
            layout.hide(row.id);
            break;
          case 3:
            layout.move(row.id, static_cast<int>(below(5)) - 2);
            break;
          case 4:
            layout.fold_all(below(2) == 0);
            break;
          default:
            layout.set_filter(below(2) == 0 ? "stream" : "");
            break;
        }
        if (layout.rows().empty()) layout.show_all();
        add_layout("layout.changed", layout);
      }
      Layout taken(session_, height);
      taken.take_over(layout);
      add_layout("layout.taken", taken);
      const auto& lanes = session_.traces()[0].trace->lanes();
      const trace::Lane& lane = lanes[static_cast<size_t>(below(std::ssize(lanes)))];
      layout.reveal(session_, {0, lane.first});
      add_layout("layout.revealed", layout);
    }
  }
  void add_layout(const std::string& name, const Layout& layout) {
    add(name, layout.height() + 3 * layout.pinned_height() + 7 * layout.first_scroll(200));
    for (const Row& row : layout.rows()) {
      add(name + ".rows", row.top + 2 * row.height + 5 * static_cast<int>(row.lanes) +
                              7 * row.folded + 11 * row.can_fold + 13 * row.pinned);
      const TrackGroup& group = layout.group_of(row);
      add(name + ".titles", group.title + header_note(group) + contents_of(group));
      if (!row.is_header())
        add(name + ".titles", layout.item_of(row).title + layout.item_of(row).note);
    }
    for (int y = -5; y < layout.height() + 10; y += 9) {
      const Row* const row = layout.row_at(layout.content_y(y, 30));
      add(name + ".row_at", row ? row->top : -1);
      const auto hit = layout.lane_at(session_, y);
      add(name + ".lane_at", hit ? 100.0 * hit->trace + hit->lane.value : -1.0);
    }
    for (uint32_t slice = 0; slice < session_.traces()[0].trace->slice_count(); slice += 17) {
      add(name + ".top_of", layout.top_of(session_, {0, {slice}}).value_or(-1));
      const Row* const row = layout.row_of(session_, {0, {slice}});
      add(name + ".row_of", row ? row->top : -1);
    }
  }

  void add_drawn(const std::string& name, const LanePixels& pixels) {
    for (size_t x = 0; x < pixels.cover.size(); ++x) {
      add(name + ".cover", pixels.cover[x]);
      if (pixels.cover[x] > 0) add(name + ".column", 1000.0 * pixels.colour[x] + pixels.slice[x]);
    }
    for (const SliceBox& box : pixels.boxes)
      add(name + ".boxes",
          box.slice + 3.0 * box.left + 5.0 * box.right + 7.0 * static_cast<double>(box.colour));
  }
  void add_lane(const std::string& name, const LaneColumns& lane, const LanePyramid& pyramid,
                const TimeAxis& axis) {
    LanePixels pixels;
    draw_lane(lane, pyramid, axis, pixels);
    add_drawn(name, pixels);
    for (int x = 0; x < axis.width; x += 11)
      add(name + ".slice_at", slice_at(lane, axis.time_at(x), axis.span_ns / 100));
  }
  void add_lanes() {
    for (int view = 0; view < 4; ++view) {
      const TimeAxis axis = TimeAxis{0, 1, static_cast<int>(20 + below(300))}.showing(
          view == 0 ? session_.range() : some_time());
      add_axis(axis);
      for (uint32_t t = 0; t < session_.traces().size(); ++t) {
        const SessionTrace& each = session_.traces()[t];
        for (uint32_t i = 0; i < each.trace->lanes().size(); ++i) {
          const trace::Lane& lane = each.trace->lanes()[i];
          add_lane("lanes", each.lane_columns(lane), each.pyramids[i], each.local(axis));
          LanePixels pixels;
          draw_lane(each.lane_columns(lane), each.pyramids[i], each.local(axis), pixels);
          known_.colours->colour_by_name(pixels, t, *each.trace, lane);
          add_drawn("lanes.by name", pixels);
        }
      }
      for (const DeviceLane& lane : known_.derived->devices) {
        const TimeAxis local = session_.traces()[lane.trace()].local(axis);
        add_lane("devices", lane.columns(), lane.pyramid(), local);
        for (int x = 0; x < axis.width; x += 13) {
          add("devices.text_at", lane.text_at(local.time_at(x)));
          if (const auto gap = lane.gap_at(local.time_at(x))) add("devices.gap", gap->length_ns());
        }
      }
      for (const RuntimeLane& lane : known_.derived->runtimes) {
        const TimeAxis local = session_.traces()[lane.trace()].local(axis);
        add_lane("runtimes", lane.columns(), lane.pyramid(), local);
        for (int x = 0; x < axis.width; x += 13)
          add("runtimes.call_at", lane.call_at(local.time_at(x), axis.span_ns / 50));
      }
      for (const MarksLane& lane : known_.derived->marks) {
        for (const DrawnMark& mark : lane.draw(session_.traces()[lane.trace()].local(axis))) {
          add("marks.column", mark.column);
          add("marks.text", lane.text_of(session_, mark.mark));
        }
      }
    }
    for (const auto* legend : {&known_.colours->classes(), &known_.colours->names()})
      for (const LegendEntry& entry : *legend) add("legend " + entry.words, entry.colour);
  }
  void add_axis(const TimeAxis& axis) {
    add("axis", axis.range());
    for (const TimeAxis& other : {axis.zoomed(0.3, axis.width / 3.0), axis.zoomed(1e9, 2),
                                  axis.panned(-17.5), axis.kept_near(session_.range())})
      add("axis.moved", other.range());
    for (const Tick& tick : ruler_ticks(axis, session_.range().begin_ns, 40)) {
      add("axis.ticks", tick.time_ns);
      add("axis.ticks", tick.label);
    }
  }

  trace::Report made_up_hang() {
    trace::Report report;
    const int64_t ranks = 2 + below(3);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      trace::HangTable table;
      table.rank = static_cast<int>(rank);
      table.world_size = static_cast<int>(ranks);
      table.host = fmt::format("node{}", rank / 2);
      for (int64_t group = below(3); group > 0; --group) {
        const std::string name = std::to_string(group);
        const int64_t entered = below(3);
        table.groups.push_back({name, {0, 1}, entered});
        if (below(4) > 0)
          table.collectives.push_back(
              {name, entered, "all_reduce", "[[8]]", "Float", below(2) == 0, 1});
      }
      if (below(2) == 0) table.inner = "connection.py:9 poll";
      if (below(2) == 0) table.stack = {"train.py:31 sync"};
      report.hang_tables.push_back(std::move(table));
    }
    report.hang = trace::find_hang(report.hang_tables);
    return report;
  }

  void add_graphs() {
    for (const GraphTrack& each : known_.derived->graphs) {
      const std::string name = "graph " + each.title;
      add(name, each.note);
      add(name, each.graph.low() + 2 * each.graph.high() + each.device);
      for (int view = 0; view < 3; ++view) {
        const TimeRange range = view == 0 ? session_.range() : some_time();
        const TimeAxis axis = session_.traces()[each.trace].local(
            TimeAxis{0, 1, static_cast<int>(5 + below(90))}.showing(range));
        for (const GraphColumn& column : graph_columns(each.graph, axis))
          add(name, column.drawn ? column.low + 2 * column.high : -1);
        const double value = each.graph.at(axis.time_at(axis.width / 2.0));
        add(name, value);
        add(name, each.graph.text(value));
      }
    }
  }

  void add_table(const std::string& chapter, const Table& table) {
    const std::string name = chapter + "table " + table.title;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const std::string column = name + "." + table.columns[c].title;
      add(column, has_values(table, c) + 2.0 * is_all_zero(table, c));
      add(column + ".meaning", table.columns[c].meaning);
      for (const TableRow& row : table.rows) {
        add(column, value_text(row.values[c], table.columns[c].unit));
        add(column, row.values[c].number());
      }
    }
    for (const TableRow& row : table.rows) {
      add(name + ".leads to", row.slice);
      add(name + ".leads to", row.name);
      if (row.time) add(name + ".leads to", TimeRange{row.time->begin_ns, row.time->end_ns});
    }
    add(name + ".exported", table_csv(table) + table_json(table));
    add(name + ".filtered", table_tsv(rows_with(table, "e")));
  }
  void add_tables(const std::string& chapter, const ReportTables& all) {
    for (const Table* each :
         {&all.compare, &all.tree, &all.kernels, &all.operators, &all.collectives, &all.steps,
          &all.ranks, &all.gaps, &all.memory, &all.roofline, &all.modules, &all.copies, &all.path})
      add_table(chapter, *each);
  }

  void add_steps() {
    for (const StepBar& bar : known_.step_bars) {
      add("bars", text_of(bar));
      add("bars", bar.time.trace + static_cast<double>(bar.time.begin_ns + bar.length_ns()));
    }
    for (const size_t most : {1U, 2U, 3U, 100U})
      for (const size_t bar : bars_to_draw(known_.step_bars, most)) add("bars.drawn", bar);
    if (known_.step_bars.empty()) return;
    const auto& bar = known_.step_bars[static_cast<size_t>(below(std::ssize(known_.step_bars)))];
    add_tables("step's ", tables_of_step(session_, *known_.report, *known_.origins, bar.time));
  }
  void add_summary() {
    const Summary summary = summarize(*known_.report);
    add("summary", summary.title + summary.step + summary.spread + summary.ranks);
    for (const SummaryPart& part : summary.parts) add("summary " + part.name, part.share);
    for (const SummaryFigure& figure : summary.figures)
      add("summary " + figure.label, figure.value);
    for (const SummaryCard& card : summary.cards) {
      add("cards", card.headline + card.detail + card.gain + card.trial + card.evidence);
      add("cards.place", SliceRef{static_cast<uint32_t>(card.trace), card.slice});
      add("cards.place", TimeRange{card.time.begin_ns, card.time.end_ns});
      add("cards.place", static_cast<int>(card.severity) + 5 * card.is_idle);
    }
    for (const RooflinePicture& picture : {known_.roofline}) {
      for (const std::string& hint : picture.hints) add("roofline", hint);
    }
    for (const std::string& words : module_words(*known_.report)) add("modules", words);
    add_flame("icicle", *known_.modules);
  }
  void add_flame(const std::string& name, const Flame& flame) {
    for (size_t i = 0; i < flame.nodes.size(); ++i) {
      const FlameNode& node = flame.nodes[i];
      add(name, node.name + (i < flame.words.size() ? flame.words[i] : ""));
      add(name + ".tree", node.parent + 3.0 * node.depth + 5.0 * node.slice_class);
      add(name + ".calls", node.count);
      add(name + ".total_ns", node.total_ns);
      add(name + ".self_ns", node.self_ns);
    }
    for (uint32_t zoomed = 0; zoomed < flame.nodes.size(); zoomed += 5)
      for (const FlameBox& box : flame_boxes(flame, zoomed, 120))
        add(name + ".boxes", box.node + 3.0 * box.depth + box.left + box.width);
    add_table(name + " ", flame_table(flame));
  }

  void add_slices() {
    for (uint32_t t = 0; t < session_.traces().size(); ++t) {
      for (uint32_t i = 0; i < session_.traces()[t].trace->slice_count(); i += 7) {
        const SliceRef ref{t, {i}};
        const SliceDetails details = slice_details(session_, ref);
        for (const auto* fields : {&details.fields, &details.arguments})
          for (const DetailField& field : *fields) add("details." + field.name, field.value);
        const auto links = links_of(session_, *known_.collectives, ref);
        for (const Link& link : links) {
          add("links", link.from);
          add("links", link.to);
          add("links", link_text(link, ref));
        }
        add_table("", link_rows(session_, links, ref));
        for (const trace::SliceId above : host_stack(*session_.traces()[t].trace, {i}))
          add("stack", above.value);
        const auto is_its_row = row_of_call(session_, *known_.report, ref);
        if (is_its_row)
          add("row of call", std::ranges::count_if(known_.tables->collectives.rows, is_its_row));
      }
    }
    for (const char* kind : {"all_reduce", "allreduce", "alltoall"})
      add("longest of kind", longest_of_kind(session_, *known_.report, kind));
  }

  void add_search() {
    for (const char* text : {"aten::m", "KERNEL", "nccl", "a", "no such name", ""}) {
      const Search search(session_, text);
      add("search", search.count());
      SliceRef at;
      for (int i = 0; i < 12; ++i) {
        at = search.next(session_, at);
        add("search.next", at);
        add("search.place", search.place_of(session_, at));
      }
      for (int i = 0; i < 20; ++i) add("search.previous", at = search.previous(session_, at));
      const FindResults found = find_results(session_, search);
      add("found.spread", found.spread.sum + found.spread.min + found.spread.p50 +
                              found.spread.p99 + found.spread.max);
      for (const HistogramBin& bin : found.histogram) {
        add("found.bins", bin.from_ns + bin.to_ns);
        add("found.bins", static_cast<double>(bin.count) + static_cast<double>(bin.total_ns));
        add("found.longest", longest_of(session_, *found.hits, bin));
      }
      for (const int64_t ns : {0, 1, 900, 100'000, 1'000'000'000})
        add("found.bin_of", bin_of(found.histogram, ns));
      for (size_t column = 0; column < hit_columns().size(); ++column) {
        for (const bool ascending : {false, true}) {
          const Hits sorted = sort_hits(session_, *found.hits, column, ascending);
          for (const SliceRef ref : *sorted) add("found.sorted", ref);
        }
        for (const SliceRef ref : *found.hits)
          add("found.values",
              value_text(hit_value(session_, ref, column), hit_columns()[column].unit));
      }
    }
    for (const char* part : {"float", "Seq"}) {
      const Search search(session_, std::string("args:") + part, find_in_args(session_, part));
      add("search.args", search.count());
      add("search.args", search.next(session_, {0, {3}}));
    }
    for (const char* name : {"aten::mm", "aten::relu", "nothing"}) {
      add("longest", longest_named(session_, name));
      for (const SliceRef ref : places_of(session_, name)) add("places", ref);
    }
  }

  void add_areas() {
    Layout layout(session_, 100'000);
    for (const size_t pinned : {3U, 1U}) {
      if (pinned < layout.rows().size()) layout.set_pinned(layout.rows()[pinned].id, true);
    }
    for (int y = -2; y < std::min(layout.height(), 250); ++y)
      for (const LaneHit& hit : lanes_between(session_, layout, y, y + 1, 29))
        add("area.strips", 1000.0 * y + 100.0 * hit.trace + hit.lane.value);
    for (int scroll = 0; scroll < 30; ++scroll)
      for (const LaneHit& hit : lanes_between(session_, layout, 0, 150, scroll))
        add("area.scrolled", 1000.0 * scroll + 100.0 * hit.trace + hit.lane.value);
    for (int i = 0; i < 4; ++i) {
      const int top = i == 0 ? 0 : static_cast<int>(below(layout.height()));
      const int bottom = i == 0 ? layout.height() : top + static_cast<int>(below(300));
      const Area area{i == 0 ? session_.range() : some_time(),
                      lanes_between(session_, layout, top, bottom, static_cast<int>(below(20)))};
      const AreaSummary sums = summarize_area(session_, area);
      add("area", sums.slices + area.lanes.size());
      add_table("area's ", sums.table);
      add_flame("flame", flame_of(session_, area));
    }
  }

  void add_comparison() {
    if (!known_.diff) return;
    add("diff", diff_headline(*known_.diff));
    for (const std::string& note : diff_notes(*known_.diff)) add("diff", note);
    add_table("diff's ", diff_rows(session_, *known_.report, *known_.diff));
    if (!known_.tree) return;
    add("tree", tree_note(*known_.tree));
    add_table("diff's ", tree_rows(*known_.tree));
  }

  testing::Sums& sums_;
  const Session session_;
  const AnalysedSession known_;
  std::mt19937_64 dice_;
};

}  // namespace redline::viewer
