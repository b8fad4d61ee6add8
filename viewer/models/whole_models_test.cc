// All that the viewer says of two small ranks, of their comparison, a study and a run, as text:
// viewer/models/whole_models.txt, which somebody has read. Where a change means to say something
// else, the test names the new text; read the difference, and copy it there.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/kept_text.h"
#include "viewer/models/analyse.h"
#include "viewer/models/area.h"
#include "viewer/models/chart.h"
#include "viewer/models/colours.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/details.h"
#include "viewer/models/diff_table.h"
#include "viewer/models/find_results.h"
#include "viewer/models/format.h"
#include "viewer/models/host_stack.h"
#include "viewer/models/layout.h"
#include "viewer/models/load.h"
#include "viewer/models/modules.h"
#include "viewer/models/overview.h"
#include "viewer/models/roofline.h"
#include "viewer/models/run.h"
#include "viewer/models/step_scope.h"
#include "viewer/models/steps_table.h"
#include "viewer/models/summary.h"
#include "viewer/models/testing_run.h"
#include "viewer/models/testing_study.h"
#include "viewer/models/testing_trace.h"
#include "viewer/models/tree_table.h"
#include "viewer/models/tuning.h"

namespace redline::viewer {
namespace {

namespace fs = std::filesystem;

/// Three steps. Each kind of event that the viewer speaks of, with numbers that are all different.
TestTrace whole_trace(int rank, double slower = 1) {
  TestTrace trace(rank, 1'000'000 + 7 * rank);
  const auto at = [&](int step, double us) { return step * 1'000 + us * slower; };
  trace.raw(R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}})");
  trace.raw(
      R"~({"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"thread 1 (main)"}})~");
  trace.raw(
      R"~({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"thread 2 (pt_autograd_0)"}})~");
  for (int step = 0; step < 3; ++step) {
    const int id = 100 * step;
    const auto call = [&](const std::string& name, int tid, double us, double length,
                          int correlation) {
      trace.slice("cuda_runtime", name, 1, tid, at(step, us), length,
                  fmt::format(R"({{"correlation":{}}})", id + correlation));
    };
    const auto work = [&](const std::string& category, const std::string& name, int stream,
                          double us, double length, int correlation, const std::string& args) {
      trace.slice(category, name, 0, stream, at(step, us), length * slower,
                  fmt::format(R"({{"device":0,"stream":{},"correlation":{}{}}})", stream,
                              id + correlation, args));
    };
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step + 5), 1, 1, at(step, 0),
                990 * slower);
    trace.slice("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, 1, at(step, 3),
                101 + step);
    trace.slice("python_function", "nn.Module: Net_0", 1, 1, at(step, 120), 300,
                R"({"Module name":"","Python id":1})");
    trace.slice("python_function", "nn.Module: Linear_0", 1, 1, at(step, 125), 130,
                R"({"Module name":"head"})");
    trace.slice(
        "cpu_op", "aten::linear", 1, 1, at(step, 130), 120,
        fmt::format(
            R"({{"Input Dims":[[64,{}],[256,128],[256]],"Input type":["float","float","float"],)"
            R"("Sequence number":{},"Fwd thread id":0}})",
            128, id + 3));
    trace.slice(
        "cpu_op", "aten::addmm", 1, 1, at(step, 140), 90,
        R"({"Input Dims":[[256],[64,128],[128,256],[],[]],"Input type":["float","float","float","Scalar","Scalar"]})");
    call("cudaLaunchKernel", 1, 150, 11, 1);
    work(
        "kernel", "sm80_xmma_gemm_f32f32", 7, 200, 143 + step, 1,
        R"(,"grid":[8,1,1],"block":[128,1,1],"registers per thread":64,"est. achieved occupancy %":40)");
    trace.slice("cpu_op", "aten::relu", 1, 1, at(step, 300), 40,
                R"({"Input Dims":[[64,256]],"Input type":["float"]})");
    call("cudaLaunchKernel", 1, 305, 7, 2);
    work("kernel", "relu_kernel", 7, 360, 19, 2, R"(,"est. achieved occupancy %":90)");
    call("cudaMemcpyAsync", 1, 410, 5, 3);
    work("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 20, 420, 37, 3, R"(,"bytes":4096)");
    trace.slice("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 1, 2,
                at(step, 480), 120,
                fmt::format(R"({{"Sequence number":{},"Fwd thread id":1}})", id + 3));
    trace.slice("cpu_op", "aten::mm", 1, 2, at(step, 490), 60,
                R"({"Input Dims":[[256,64],[64,128]],"Input type":["float","float"]})");
    call("cudaLaunchKernel", 2, 500, 13, 4);
    work("kernel", "sm80_xmma_gemm_f32f32", 7, 530, 91, 4, R"(,"est. achieved occupancy %":30)");
    for (const auto& [phase, tid, us] : {std::tuple("s", 1, 130), std::tuple("f", 2, 480)}) {
      trace.raw(fmt::format(
          R"({{"ph":"{}","id":{},"pid":1,"tid":{},"ts":{},"cat":"fwdbwd","name":"fwdbwd","bp":"e"}})",
          phase, step + 1, tid, 1'000'000 + 7 * rank + at(step, us)));
    }
    call("cudaLaunchKernel", 2, 610, 9, 5);
    work(
        "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 21,
        640 + 20 * rank, 150 - 20 * rank, 5,
        fmt::format(
            R"(,"Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,"dtype":"Float",)"
            R"("Group size":2,"Process Group Name":"0","Process Group Ranks":[0,1],"Seq":{})",
            step + 1));
    trace.slice("user_annotation", "Optimizer.step#SGD.step", 1, 1, at(step, 700), 80);
    call("cudaLaunchKernel", 1, 720, 6, 6);
    work("kernel", "sgd_kernel", 7, 830, 23, 6, "");
    call("cudaDeviceSynchronize", 1, 790, 100, 7);
    trace.raw(fmt::format(R"({{"ph":"C","name":"GPU 0 power","pid":1,"ts":{},"args":{{"W":{}}}}})",
                          1'000'000 + at(step, 10), 200.5 + step));
    trace.raw(fmt::format(
        R"({{"ph":"i","s":"t","name":"[memory]","cat":"cpu_instant_event","pid":1,"tid":1,"ts":{},)"
        R"("args":{{"Bytes":{},"Addr":{},"Total Allocated":{},"Total Reserved":9000000,)"
        R"("Device Type":1,"Device Id":0}}}})",
        1'000'000 + at(step, 145), 1'000'000 + step, 10 + step, 2'000'000 * (step + 1)));
  }
  return trace;
}

class Whole : public ::testing::Test {
 protected:
  Whole() : folder_(fs::path(::testing::TempDir()) / ("whole_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Whole() override { fs::remove_all(folder_); }

  template <typename... Values>
  void say(fmt::format_string<Values...> form, Values&&... values) {
    text_ += fmt::format(form, std::forward<Values>(values)...) + "\n";
  }
  static std::string of(SliceRef ref) {
    return ref ? fmt::format("{}:{}", ref.trace, ref.slice.value) : "-";
  }
  void table(const Table& table) {
    std::string line = "== " + table.title;
    for (const TableColumn& column : table.columns) line += " | " + column.title;
    say("{}", line);
    for (const TableRow& row : table.rows) {
      line.clear();
      for (size_t c = 0; c < row.values.size(); ++c)
        line += value_text(row.values[c], table.columns[c].unit) + " | ";
      line += of(row.slice) + " | " + row.name;
      if (row.time)
        line +=
            fmt::format(" | {}: {} - {}", row.time->trace, row.time->begin_ns, row.time->end_ns);
      say("{}", line);
    }
  }
  void layout(const std::string& title, const Layout& layout) {
    say("== {}: {} high, {} of it pinned, scrolled by {}", title, layout.height(),
        layout.pinned_height(), layout.first_scroll(200));
    for (const Row& row : layout.rows()) {
      const TrackGroup& group = layout.group_of(row);
      say("{}+{} {} {}{}{} | {}", row.top, row.height, row.lanes, row.folded ? "folded " : "",
          row.can_fold ? "foldable " : "", row.pinned ? "pinned" : "",
          row.is_header()
              ? fmt::format("{} | {} | {}", group.title, header_note(group), contents_of(group))
              : fmt::format("  {} | {}", layout.item_of(row).title, layout.item_of(row).note));
    }
  }
  void chart(const Chart& chart) {
    say("== {} | {}{}", chart.title, chart.x_title, chart.log_x ? " (logarithmic)" : "");
    const ChartGeometry geometry(chart, {50, 10, 450, 210});
    size_t index = 0;
    for (const ChartSeries& series : chart.series) {
      say("{}", series.name);
      for (const ChartPoint& point : series.points) {
        say("  {:.4g} {} at {:.1f}, {:.1f} {} {} {}", point.x,
            point.y ? fmt::format("{:.4g}", *point.y) : "-", geometry.x_of(point.x),
            geometry.y_of(point.y), point.on_line, point.id, point.hint);
        EXPECT_TRUE(geometry.point_at(geometry.x_of(point.x), geometry.y_of(point.y)));
        ++index;
      }
    }
    EXPECT_EQ(index, chart.point_count());
    std::string ticks;
    for (const ChartTick& tick : geometry.x_ticks()) ticks += tick.text + " ";
    for (const ChartTick& tick : geometry.y_ticks()) ticks += "| " + tick.text + " ";
    say("ticks {}", ticks);
  }
  void summary(const Summary& summary) {
    say("== {} {} {} {}", summary.title, summary.step, summary.spread, summary.ranks);
    for (const SummaryPart& part : summary.parts)
      say("{} {:.4f} {}", part.name, part.share, int(part.slice_class));
    for (const SummaryFigure& figure : summary.figures) say("{}: {}", figure.label, figure.value);
    for (const SummaryCard& card : summary.cards) {
      say("* {}\n{}\n{} | {} | {} | trace {} slice {} time {} {} {}\n{}", card.headline,
          card.detail, card.gain, card.trial, int(card.severity), card.trace,
          card.slice ? std::to_string(card.slice.value) : "-", card.time.begin_ns, card.time.end_ns,
          card.is_idle, card.evidence);
    }
  }
  void tables(const ReportTables& all) {
    for (const Table* each :
         {&all.kernels, &all.operators, &all.collectives, &all.steps, &all.ranks, &all.gaps,
          &all.memory, &all.roofline, &all.modules, &all.copies, &all.path}) {
      table(*each);
    }
  }
  void session(const Session& session) {
    say("== {}: {} events, {} lanes, {} - {}", session.name(), session.event_count(),
        session.lane_count(), session.range().begin_ns, session.range().end_ns);
    for (uint32_t t = 0; t < session.traces().size(); ++t) {
      const SessionTrace& each = session.traces()[t];
      say("{} at {}", each.title, each.origin_ns);
      for (const Step& step : each.steps)
        say("  {} {} - {}", step.name, step.range.begin_ns, step.range.end_ns);
    }
    const TimeRange view = first_view(session, 800);
    say("first view {} - {}", view.begin_ns, view.end_ns);
    std::string busy, waits, classes;
    for (const OverviewColumn& column : overview_columns(session, 30)) {
      busy += fmt::format(" {:.2f}", column.busy);
      waits += fmt::format(" {:.2f}", column.dataloader);
      classes += fmt::format(" {}", int(column.main_class));
    }
    say("busy{}\nwaits{}\nclasses{}", busy, waits, classes);
  }
  void slices(const Session& session, const CollectiveLinks& collectives, uint32_t trace) {
    for (uint32_t i = 0; i < session.traces()[trace].trace->slice_count(); ++i) {
      const SliceRef ref{trace, {i}};
      const SliceDetails details = slice_details(session, ref);
      std::string line = details.name;
      for (const auto* fields : {&details.fields, &details.arguments}) {
        line += " |";
        for (const DetailField& field : *fields)
          line += fmt::format(" {}: {};", field.name, field.value);
      }
      for (const Link& link : links_of(session, collectives, ref))
        line += " > " + link_text(link, ref) + " " + of(link.from) + " " + of(link.to);
      line += " stack";
      for (const trace::SliceId above : host_stack(*session.traces()[trace].trace, ref.slice))
        line += fmt::format(" {}", above.value);
      say("{} {}", of(ref), line);
    }
  }
  void flame(const Flame& flame) {
    say("== flame, plain to {}", flame.plain_depth);
    for (size_t i = 0; i < flame.nodes.size(); ++i) {
      const FlameNode& node = flame.nodes[i];
      say("{} {} class {} in {} at {}: {} {} {} {}", i, node.name, node.slice_class, node.parent,
          node.depth, node.count, node.total_ns, node.self_ns,
          i < flame.words.size() ? flame.words[i] : "");
    }
    for (const uint32_t zoomed : {0U, 2U}) {
      std::string line;
      if (zoomed < flame.nodes.size()) {
        for (const FlameBox& box : flame_boxes(flame, zoomed, 300))
          line += fmt::format(" {}@{} {:.1f}+{:.1f}", box.node, box.depth, box.left, box.width);
      }
      say("boxes{}", line);
    }
    table(flame_table(flame));
  }

  void expect_as_written(const std::string& chapter) const {
    redline::testing::expect_kept_text(text_, "viewer/models/whole_models.txt", chapter);
  }

  fs::path folder_;
  std::string text_;
};

TEST_F(Whole, TwoRanks) {
  const Session two({whole_trace(0).read(), whole_trace(1).read()});
  const AnalysedSession known = analyse_session(two);
  session(two);
  Layout rows(two, 300);
  rows.add(two, *known.derived);
  layout("layout", rows);
  rows.set_pinned({0, 0}, true);
  rows.hide({1, 0});
  rows.move({2, -1}, 1);
  layout("arranged", rows);
  summary(summarize(*known.report));
  tables(*known.tables);
  for (const GraphTrack& graph : known.derived->graphs) {
    say("graph {} {} {} {} {} {}", graph.trace, graph.device, graph.title, graph.note,
        graph.graph.low(), graph.graph.text(1234.5));
  }
  for (const auto* legend : {&known.colours->classes(), &known.colours->names()}) {
    for (const LegendEntry& entry : *legend) say("colour {} {}", entry.words, entry.colour);
  }
  slices(two, *known.collectives, 0);
  table(link_rows(two,
                  links_of(two, *known.collectives, slice_named(two, 1, "sm80_xmma_gemm_f32f32")),
                  slice_named(two, 1, "sm80_xmma_gemm_f32f32")));
  expect_as_written("two ranks");
}

TEST_F(Whole, AreasFlamesAndSteps) {
  const Session two({whole_trace(0).read(), whole_trace(1).read()});
  const AnalysedSession known = analyse_session(two);
  const Layout rows(two, 100'000);
  const TimeRange part{two.range().begin_ns + 135'000, two.range().begin_ns + 1'540'000};
  for (const Area& area : {Area{two.range(), lanes_between(two, rows, 0, rows.height())},
                           Area{part, lanes_between(two, rows, 60, 200)}}) {
    const AreaSummary sums = summarize_area(two, area);
    say("{} slices", sums.slices);
    table(sums.table);
    flame(flame_of(two, area));
  }
  flame(module_icicle(*known.report));
  for (const std::string& words : module_words(*known.report)) say("{}", words);
  for (const StepBar& bar : step_bars(two, *known.report))
    say("bar {} {} {}", bar.time.trace, bar.time.begin_ns, text_of(bar));
  tables(tables_of_step(two, *known.report, *known.origins, step_bars(two, *known.report)[1].time));
  const FindResults found = find_results(two, Search(two, "kernel"));
  say("{} {} {} {} {}", found.spread.count, found.spread.sum, found.spread.p50, found.spread.p99,
      found.spread.max);
  for (const HistogramBin& bin : found.histogram) {
    if (bin.count > 0)
      say("bin {:.1f} {:.1f} {} {} longest {}", bin.from_ns, bin.to_ns, bin.count, bin.total_ns,
          of(longest_of(two, *found.hits, bin)));
  }
  expect_as_written("areas");
}

TEST_F(Whole, AComparison) {
  const Session runs({whole_trace(0, 1.5).read(), whole_trace(1, 1.5).read(), whole_trace(0).read(),
                      whole_trace(1).read()},
                     2);
  const AnalysedSession known = analyse_session(runs);
  session(runs);
  Layout rows(runs, 100'000);
  rows.add(runs, *known.derived);
  layout("layout", rows);
  ASSERT_TRUE(known.diff);
  table(diff_rows(runs, *known.report, *known.diff));
  say("{}", diff_headline(*known.diff));
  for (const std::string& note : diff_notes(*known.diff)) say("{}", note);
  tables(*known.tables);
  expect_as_written("comparison");
}

TEST_F(Whole, AStudy) {
  const std::string path = folder_ / "s.redline";
  {
    TestStudy study(path);
    study.add_search();
    study.trial({{"amp", "bf16"}, {"batch_size", "256"}, {"num_workers", "2"}}, 4500, "frontier",
                {}, "another process used the GPU");
    study.start({{"batch_size", "8"}});
  }
  const auto tuning = load_tuning(path);
  ASSERT_TRUE(tuning);
  for (const Chart* each : {&tuning->batches, &tuning->convergence}) chart(*each);
  for (const std::string* words :
       {&tuning->rate, &tuning->spread, &tuning->verdict, &tuning->knobs, &tuning->figures}) {
    say("{}", *words);
  }
  say("best {} default {}", tuning->best_trial, tuning->default_trial);
  for (const KnobShare& share : tuning->knob_shares) say("{} {:.4f}", share.knob, share.at_stake);
  for (const TrialDetails& each : tuning->details) say("{}: {}", each.id, each.text);
  table(tuning->trials);
  expect_as_written("study");
}

TEST_F(Whole, ARun) {
  TestRun test(folder_);
  test.add_window(100, "a.json");
  test.add_window(400, "b.json");
  test.write();
  const auto run = load_run({folder_.string()});
  ASSERT_TRUE(run);
  say("{} | {} | {} | {}", run->rate, run->subtitle, run->spread, run->left_out);
  for (const RunWindow& window : run->windows)
    say("window {} {}", window.time_ns, fs::path(window.path).filename().string());
  for (const RunFindingText& finding : run->findings)
    say("* {}\n{}\n{}", finding.headline, finding.detail, finding.cost);
  for (const RunPartShare& part : run->parts)
    say("{} {:.4f} {}", part.name, part.share, int(part.colour));
  table(run->ranks);
  expect_as_written("run");
}

}  // namespace
}  // namespace redline::viewer
