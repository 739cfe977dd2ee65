import { randomUUID } from 'node:crypto';
import type { Approval, ApprovalRequest } from '../model/call.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { VERBS } from '../report/sentences.ts';
import type { ToolAnswer, ToolArguments, ToolContext } from '../tools/tool-answer.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import { notificationMessage, type Parts, requestMessage } from './protocol.ts';

/** Time limit for the user's answer to a question. After it, the question counts as unanswered. */
const QUESTION_MS: number = 30 * 60_000;
/** Maximum number of open questions. If there are more, the oldest one counts as unanswered. */
const MAX_HELD = 64;
/** The prefix of the ids of our questions. */
const QUESTION_ID = 'lookfirst-approval-';
/** The key of the question in an `input_required` result. */
const APPROVAL_INPUT = 'approval';

type ApprovalForm = {
  readonly mode: 'form';
  readonly message: string;
  readonly requestedSchema: { readonly type: 'object'; readonly properties: Record<string, never> };
};

/** The parameters of `elicitation/create`. The form is empty: accepting it is the approval. */
function approvalForm({ path, to, action, diff }: ApprovalRequest): ApprovalForm {
  const names = [path, ...(to === undefined ? [] : [to])].map((name) => JSON.stringify(name)).join(' to ');
  const question = `Allow the agent to ${VERBS[action]} ${names}? This file needs your approval.`;
  return {
    mode: 'form',
    message: diff === undefined ? question : `${question}\n\n${diff}`,
    requestedSchema: { type: 'object', properties: {} },
  };
}

/** Reads the result of `elicitation/create`. Only `accept` approves; an error or an unknown answer does not. */
function approvalOf(result: unknown): Approval {
  const action = isRecord(result) ? result['action'] : undefined;
  if (action === 'accept') return 'approved';
  return action === 'decline' || action === 'cancel' ? 'declined' : undefined;
}

/**
 * Asks the user of one client over stdio. Sends each question as a request to the client, which
 * only protocol revisions before 2026-07-28 allow.
 */
export class Questions {
  readonly #send: (parts: Parts) => boolean;
  readonly #open = new Map<unknown, (answer: Approval) => void>();
  #count = 0;

  constructor(send: (parts: Parts) => boolean) {
    this.#send = send;
  }

  /** Sends the question, and withdraws it if the call is cancelled or the time limit passes. */
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<Approval> {
    // An aborted signal fires no event any more, so the question would stay open.
    if (signal.aborted) return Promise.resolve(undefined);
    this.#count += 1;
    const id = `${QUESTION_ID}${this.#count}`;
    return new Promise((resolve) => {
      const settle = (answer: Approval): void => {
        this.#open.delete(id);
        clearTimeout(timer);
        signal.removeEventListener('abort', withdraw);
        resolve(answer);
      };
      const withdraw = (): void => {
        this.#send(notificationMessage('notifications/cancelled', { requestId: id }));
        settle(undefined);
      };
      const timer = setTimeout(withdraw, QUESTION_MS).unref();
      signal.addEventListener('abort', withdraw, { once: true });
      this.#open.set(id, settle);
      this.#send(requestMessage(id, 'elicitation/create', approvalForm(request)));
    });
  }

  /** Passes the client's answer to the open question with this id. Ignores an answer with any other id. */
  answered(id: unknown, result: unknown): void {
    this.#open.get(id)?.(approvalOf(result));
  }
}

/**
 * The result that a client of revision 2026-07-28 gets if a call needs the user's approval. The
 * client asks the user, then repeats the call with the answer and `requestState`.
 */
export interface InputRequired {
  readonly inputRequests: {
    readonly [APPROVAL_INPUT]: {
      readonly method: 'elicitation/create';
      readonly params: ApprovalForm;
    };
  };
  readonly requestState: string;
}

/**
 * One tool call of a client of revision 2026-07-28. `inputResponses` and `requestState` continue an
 * earlier call.
 */
interface AskingCall {
  readonly name: string;
  readonly args: ToolArguments;
  readonly inputResponses: unknown;
  readonly requestState: unknown;
  readonly context: ToolContext;
}

/**
 * Adds to a call the parameters of its request that continue an earlier call: the user's answer and
 * the state of the earlier call.
 */
export function askingCall(
  { inputResponses, requestState }: JsonRecord,
  call: Pick<AskingCall, 'name' | 'args' | 'context'>,
): AskingCall {
  return { ...call, inputResponses, requestState };
}

/**
 * Tool calls that wait for the user's approval, for clients of revision 2026-07-28. The server
 * responds to such a call with a question, and the client sends the call again with the user's
 * decision. Meanwhile the server keeps the first call paused, and then continues it. So the decision
 * applies to exactly the change that was shown.
 */
export class HeldCalls {
  readonly #held = new Map<string, HeldCall>();
  readonly #inputRead: (() => Promise<void>) | undefined;

  /** `inputRead` resolves when the server has read all input that has already arrived. */
  constructor(inputRead?: () => Promise<void>) {
    this.#inputRead = inputRead;
  }

  /** Begins or continues a call; returns the host's answer or the next question for the user. */
  async run(host: ToolHost, call: AskingCall): Promise<ToolAnswer | InputRequired> {
    const known = this.#taken(call);
    if (known !== undefined) return this.#round(known, call.context);
    const held = new HeldCall(call);
    held.answer = Promise.resolve(host.call(call.name, call.args, held));
    return this.#round(held, call.context);
  }

  /** Ends every call that waits for its user; none of them changes anything. */
  close(): void {
    for (const held of this.#held.values()) held.end();
    this.#held.clear();
  }

  /**
   * Passes the user's answer to the paused call that this request continues, and returns that call.
   * Undefined if there is none. If the request has another tool or other arguments than the paused
   * call, refuses the paused call and returns undefined.
   */
  #taken({ name, args, inputResponses, requestState }: AskingCall): HeldCall | undefined {
    if (typeof requestState !== 'string') return undefined;
    const held = this.#held.get(requestState);
    if (held === undefined) return undefined;
    this.#held.delete(requestState);
    if (held.text !== callText(name, args)) {
      held.end();
      return undefined;
    }
    held.reply(approvalOf(isRecord(inputResponses) ? inputResponses[APPROVAL_INPUT] : undefined));
    return held;
  }

  /** Waits until the call has its answer, or needs to ask the user another question. */
  async #round(held: HeldCall, context: ToolContext): Promise<ToolAnswer | InputRequired> {
    held.context = context;
    const asked = new Promise<ApprovalRequest>((resolve) => held.whenAsked(resolve));
    const first = await Promise.race([held.answer, asked]);
    if (!('action' in first)) {
      // The code that sends the answer calls `answered` of the current request. If an earlier
      // request began the call, set the time of that request here, after reading the input that has
      // already arrived. A cancelled request gets no answer, so set nothing.
      if (held.times !== context.times) {
        if (held.times.showsMore === true) await this.#inputRead?.();
        if (!context.signal.aborted) held.times.answered();
      }
      return first;
    }
    return this.#hold(held, first);
  }

  #hold(held: HeldCall, request: ApprovalRequest): InputRequired {
    // No code waits for this promise until the client's next request, which gets the error. Until
    // then, an error must not count as an unhandled rejection.
    held.answer.catch(() => {});
    held.pause();
    const requestState = randomUUID();
    const [oldest] = this.#held.keys();
    if (this.#held.size >= MAX_HELD && oldest !== undefined) this.#forget(oldest);
    this.#held.set(requestState, held);
    setTimeout(() => this.#forget(requestState), QUESTION_MS).unref();
    const params = approvalForm(request);
    return { inputRequests: { [APPROVAL_INPUT]: { method: 'elicitation/create', params } }, requestState };
  }

  #forget(requestState: string): void {
    this.#held.get(requestState)?.end();
    this.#held.delete(requestState);
  }
}

/**
 * A call that may ask the user several questions. After each one, the client continues it with a
 * new request and signal.
 */
class HeldCall implements ToolContext {
  readonly #call: AskingCall;
  readonly meta: JsonRecord;
  readonly clientInfo: ToolContext['clientInfo'];
  readonly sessionHint: string | undefined;
  readonly times: ToolContext['times'];
  answer: Promise<ToolAnswer> = new Promise(() => {});
  /** The open question. A call may ask it before `whenAsked` is called. */
  #question: ApprovalRequest | undefined;
  #onQuestion: (request: ApprovalRequest) => void = () => {};
  /** The context of the current request. Undefined while the call waits for the decision of the user. */
  #context: ToolContext | undefined;
  #controller: AbortController | undefined;
  #resolve: (answer: Approval) => void = () => {};

  constructor(call: AskingCall) {
    const { context } = call;
    this.#call = call;
    this.#context = context;
    this.meta = context.meta;
    this.clientInfo = context.clientInfo;
    this.sessionHint = context.sessionHint;
    this.times = context.times;
    this.times.approve = (request) => this.#ask(request);
  }

  /** The call as text, to compare it with a repeated call. */
  get text(): string {
    return callText(this.#call.name, this.#call.args);
  }

  /**
   * Sets the context of the current request. If the request is cancelled, the call is cancelled
   * too.
   */
  set context(context: ToolContext) {
    this.#context = context;
    if (this.#controller !== undefined) this.#follow(context, this.#controller);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#context !== undefined) this.#follow(this.#context, this.#controller);
    }
    return this.#controller.signal;
  }

  /**
   * Pauses the call until the user has decided. From now on, the end of the current request does
   * not cancel the call.
   */
  pause(): void {
    this.#context = undefined;
  }

  #ask(request: ApprovalRequest): Promise<Approval> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#question = request;
      this.#onQuestion(request);
    });
  }

  /** Calls `take` with the open question, now or when the call asks one. */
  whenAsked(take: (request: ApprovalRequest) => void): void {
    this.#onQuestion = take;
    if (this.#question !== undefined) take(this.#question);
  }

  readonly progress = (done: number, total?: number, message?: string): void =>
    this.#context?.progress(done, total, message);

  /** Passes the user's answer to the open question. */
  reply(answer: Approval): void {
    this.#question = undefined;
    this.#resolve(answer);
  }

  /** Leaves the open question unanswered, which refuses the call. */
  end(): void {
    this.#resolve(undefined);
  }

  #follow(context: ToolContext, controller: AbortController): void {
    const { signal } = context;
    const abort = (): void => {
      if (this.#context === context) controller.abort(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }
}

function callText(name: string, args: ToolArguments): string {
  return JSON.stringify([name, args]);
}
